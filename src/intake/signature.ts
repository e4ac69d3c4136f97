// The signature step: who vouches for the file when a client installs it.
import type { Step } from './arrival.ts'

/** A deb or apk needs no signature of its own: the index that names its digest is signed by us (decisions, section 6). */
export function signatureStep(): Step {
  return {
    key: 'gpg',
    label: 'Signature',
    async run() {
      return { verdict: { name: 'gpg', outcome: 'pass', word: 'signed', message: 'its digest is carried by the signed index' } }
    },
  }
}
