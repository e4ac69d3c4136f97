// Names of the public key files, for processes that need no private key.

/** The file of apk's key, below `keys/` and on clients. */
export const APK_KEY_NAME = 'svc.rsa.pub'
