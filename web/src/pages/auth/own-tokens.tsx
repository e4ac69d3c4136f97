import { TokenPage } from './token-page.tsx'

export default function OwnTokens() {
  return <TokenPage own />
}
