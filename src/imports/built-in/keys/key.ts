// A public key that is part of the service.

export interface BuiltInKey {
  label: string
  /** of an OpenPGP key, as its owner publishes it; of an RSA key (apk), the SHA-256 of its DER form */
  fingerprint: string
  /** apk: the file name clients know it by */
  name: string | null
  /** armored OpenPGP public key, or SubjectPublicKeyInfo in PEM */
  text: string
}
