// Where a proxy gets its packages, and the credential for it.
import { TextInput } from '@mantine/core'

export interface TypedUpstream {
  url: string
  authorization: string
}

interface UpstreamFieldsProps {
  typed: TypedUpstream
  /** about the credential */
  about: string
  readOnly?: boolean
  put: (typed: TypedUpstream) => void
}

export function UpstreamFields({ typed, about, readOnly = false, put }: UpstreamFieldsProps) {
  return (
    <>
      <TextInput
        label="Upstream"
        description="The address of the registry that it asks."
        required
        type="url"
        maxLength={500}
        readOnly={readOnly}
        value={typed.url}
        onChange={(event) => put({ ...typed, url: event.currentTarget.value })}
      />
      {!readOnly && (
        <TextInput
          label="Credential"
          description={about}
          type="password"
          placeholder="Bearer …"
          autoComplete="off"
          maxLength={4000}
          value={typed.authorization}
          onChange={(event) => put({ ...typed, authorization: event.currentTarget.value })}
        />
      )}
    </>
  )
}
