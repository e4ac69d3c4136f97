import { TokenPage } from './token-page.tsx'

export default function Tokens() {
  return <TokenPage own={false} />
}
