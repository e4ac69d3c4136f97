// Names of the key files.

/** The file of apk's key, below `keys/` and on clients. */
export const APK_KEY_NAME = 'svc.rsa.pub'

/** The private OpenPGP key, below `gnupg/`. */
export const OPENPGP_FILE = 'signing-key.asc'

/** Replaced public OpenPGP keys, one block after another; below `gnupg/`, with a copy below `keys/`. */
export const FORMER_KEYS_FILE = 'former-keys.asc'

/** The private key that signs what listeners know about access, below `gnupg/`. */
export const ACCESS_KEY_FILE = 'access-key.pem'

/** The public half, which listeners read; below `keys/`. */
export const ACCESS_KEY_NAME = 'access.pub'
