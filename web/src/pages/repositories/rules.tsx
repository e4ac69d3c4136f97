// The rules of a proxy: what it holds of what its upstream has.
import { NumberInput, Select, Switch, TagsInput } from '@mantine/core'
import { DEFAULT_CURATION, type Curation } from '../../../../src/domain/curation.ts'

const SCRIPTS: Record<Curation['install_scripts'], string> = {
  allow: 'let them through',
  warn: 'tell reviewers',
  hold_new: 'hold where the version before had none',
}
const PROVENANCE: Record<Curation['provenance'], string> = {
  allow: 'do not look at it',
  warn: 'tell reviewers when it was lost',
  require: 'hold versions without it',
}

interface RulesProps {
  rules: Curation
  readOnly: boolean
  put: (change: Partial<Curation>) => void
}

const DEFAULT = DEFAULT_CURATION
const choices = (words: Record<string, string>) => Object.entries(words).map(([value, label]) => ({ value, label }))
const onOff = (value: boolean) => (value ? 'on' : 'off')

/** Each rule with its default and one sentence. */
export function Rules({ rules, readOnly, put }: RulesProps) {
  return (
    <>
      <NumberInput
        label="Days that a version must be old"
        description={`Younger versions are held; 0 for none. Default: ${DEFAULT.min_age_days}.`}
        min={0}
        max={365}
        allowDecimal={false}
        readOnly={readOnly}
        value={rules.min_age_days}
        onChange={(value) => typeof value === 'number' && put({ min_age_days: value })}
      />
      <Switch
        label="Fixes do not wait"
        description={`A version that mends a high or critical finding of the newest listed one passes at once. Default: ${onOff(DEFAULT.fixes_pass)}.`}
        disabled={readOnly}
        checked={rules.fixes_pass}
        onChange={(event) => put({ fixes_pass: event.currentTarget.checked })}
      />
      <TagsInput
        label="Denied licences"
        description="As packages write them, Enter after each; held where every choice of an OR is denied. Default: none."
        readOnly={readOnly}
        maxTags={200}
        value={rules.deny_licenses}
        onChange={(licenses) => put({ deny_licenses: licenses })}
      />
      <Select
        label="Scripts at installation"
        description={`What happens to versions that run some. Default: ${SCRIPTS[DEFAULT.install_scripts]}.`}
        data={choices(SCRIPTS)}
        allowDeselect={false}
        readOnly={readOnly}
        value={rules.install_scripts}
        onChange={(value) => value && put({ install_scripts: value as Curation['install_scripts'] })}
      />
      <Select
        label="Provenance"
        description={`What happens to versions that do not say where they were built. Default: ${PROVENANCE[DEFAULT.provenance]}.`}
        data={choices(PROVENANCE)}
        allowDeselect={false}
        readOnly={readOnly}
        value={rules.provenance}
        onChange={(value) => value && put({ provenance: value as Curation['provenance'] })}
      />
      <Switch
        label="Say what is held"
        description={`Otherwise clients do not hear of held versions in lists. Default: ${onOff(DEFAULT.explain_holds)}.`}
        disabled={readOnly}
        checked={rules.explain_holds}
        onChange={(event) => put({ explain_holds: event.currentTarget.checked })}
      />
    </>
  )
}
