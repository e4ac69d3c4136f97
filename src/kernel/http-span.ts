// The span of an outbound request.
import type { Dispatcher } from 'undici'
import { trace, type Attributes } from './trace.ts'

/** The span ends with the header of the answer. Its attributes name only the host: paths and queries may contain secrets. */
export function traced(
  method: 'GET' | 'POST',
  url: URL,
  send: () => Promise<Dispatcher.ResponseData>,
): Promise<Dispatcher.ResponseData> {
  const attributes: Attributes = {
    'http.request.method': method,
    'server.address': url.hostname,
    'server.port': Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
  }
  return trace(
    method,
    attributes,
    async (seen) => {
      const answer = await send()
      seen['http.response.status_code'] = answer.statusCode
      return answer
    },
    { isPart: true, kind: 'client' },
  )
}
