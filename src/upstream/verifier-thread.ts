// A worker thread that verifies OpenPGP signatures: openpgp.js works synchronously, up to 100 ms for one description.
import { parentPort } from 'node:worker_threads'
import { isProblem } from '../domain/problem.ts'
import { asError } from '../kernel/errors.ts'
import { createOpenpgpVerifier } from './openpgp.ts'
import type { VerifierReply, VerifierRequest } from './verifier.ts'

async function answer(request: VerifierRequest): Promise<VerifierReply> {
  const { id, keys, now, document, signature, name } = request
  const verifier = createOpenpgpVerifier(keys, new Date(now))
  try {
    if (!signature) return { id, ...(await verifier.cleartext(document, name)) }
    return { id, text: '', signedBy: await verifier.detached(document, signature, name) }
  } catch (error) {
    if (isProblem(error)) return { id, refusal: { reason: String(error.extra['reason']), detail: error.detail } }
    return { id, failure: asError(error).message }
  }
}

parentPort?.on('message', (request: VerifierRequest) => {
  void answer(request).then((reply) => parentPort?.postMessage(reply))
})
