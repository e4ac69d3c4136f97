// Undoing decisions: within ten minutes, by the person who decided, while nothing else happened to the package.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'
import { bringIn } from './samples.ts'

interface Undone {
  status: string
  undone: number
  failed: number
  items: { decision_id: number; result: string; code: string | null; status: string | null; served: boolean | null }[]
}

export function undoContract(gate: Gate): void {
  const decide = async (name: string, action: string, as?: string) => {
    const reply = await gate.call<{ decision: { id: number } }>('POST', `/security/packages/${name}/1.0-1/decide`, {
      body: { action, justification: 'seen' },
      ...(as ? { as } : {}),
    })
    expect(reply.status, reply.text).toBe(200)
    return reply.body.decision.id
  }
  const undo = async (ids: number[], as?: string) => {
    const reply = await gate.call<Undone>('POST', '/security/decisions/undo', { body: { ids }, ...(as ? { as } : {}) })
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }
  const results = ({ items }: Undone) => items.map(({ code, result }) => code ?? result)
  const stateOf = async (name: string) => {
    const { body } = await gate.call<{
      status: string
      served: boolean
      held: object
      sla: object
      findings: object[]
    }>('GET', `/security/packages/${name}/1.0-1/evidence`)
    const { status, served, held, sla, findings } = body
    return { status, served, held, sla, findings }
  }
  const isOffered = async (name: string) =>
    (await gate.call<{ packages: { name: string }[] }>('GET', '/distributions/jammy/packages')).body.packages.some(
      (one) => one.name === name,
    )
  const audited = async (name: string) =>
    (await gate.call<{ items: object[] }>('GET', `/artifacts/audit/logs?action=DECISION_UNDONE&package=${name}`)).body
      .items

  test.each(['accept_risk', 'reject', 'upgrade_required'])(
    'after an undone %s the package waits as before, and can be decided again',
    async (action) => {
      const name = `bulk-undo-${action.replace('_', '-')}`
      await bringIn(gate, { name })
      const before = await stateOf(name)
      expect(before).toMatchObject({ status: 'pending_review', served: false })
      const id = await decide(name, action)
      expect((await undo([id])).items).toMatchObject([
        { decision_id: id, result: 'undone', status: 'pending_review', served: false, downloads: { downloads: 0 } },
      ])
      expect(await stateOf(name)).toEqual(before)
      expect(await isOffered(name)).toBe(false)
      expect(await audited(name)).toMatchObject([
        { user: gate.people.admin.username, result: 'WARNING', outcome: 'pending_review' },
      ])
      await decide(name, 'accept_risk')
      expect(await isOffered(name)).toBe(true)
    },
  )

  test('what clients were offered before, they are offered again after an undone rejection', async () => {
    const name = 'bulk-undo-served'
    await bringIn(gate, { name })
    const approval = await decide(name, 'accept_risk')
    await gate.call('DELETE', `/security/decisions/${approval}`)
    const before = await stateOf(name)
    expect(before).toMatchObject({ status: 'pending_review', served: true, held: { reason: 'decision_withdrawn' } })
    const id = await decide(name, 'reject')
    expect(await isOffered(name)).toBe(false)
    expect((await undo([id])).items).toMatchObject([{ status: 'pending_review', served: true }])
    expect(await stateOf(name)).toEqual(before)
    expect(await isOffered(name)).toBe(true)
    const at = `http://127.0.0.1:${gate.aptPort}/repos/`
    const index = await (await fetch(`${at}dists/jammy/main/binary-amd64/Packages`)).text()
    const path = new RegExp(`^Filename: (.*${name}_.*)$`, 'm').exec(index)?.[1] ?? ''
    expect((await fetch(at + path)).status).toBe(200)
    // An approval of it is undone to the same: clients keep it.
    const again = await decide(name, 'accept_risk')
    expect((await undo([again])).items).toMatchObject([{ status: 'pending_review', served: true }])
    expect(await isOffered(name)).toBe(true)
  })

  test('a decision that another one replaced is in force again', async () => {
    const name = 'bulk-undo-replaced'
    await bringIn(gate, { name })
    const first = await decide(name, 'upgrade_required')
    const second = await decide(name, 'accept_risk')
    expect(results(await undo([first]))).toEqual(['not_under_review'])
    expect(results(await undo([second]))).toEqual(['undone'])
    const { body } = await gate.call('GET', `/security/packages/${name}/1.0-1/decision`)
    expect(body['decision']).toMatchObject({ id: first, active: true, action: 'upgrade_required', resolved_at: null })
  })

  test('only once, only by the person who decided, and only within ten minutes', async () => {
    const { maintainer, admin } = gate.people
    const names = ['bulk-undo-once', 'bulk-undo-other', 'bulk-undo-late']
    for (const name of names) await bringIn(gate, { name })
    const [once, other, late] = (await Promise.all(
      names.map((name) => decide(name, 'accept_risk', maintainer.session)),
    )) as [number, number, number]
    expect(results(await undo([once], maintainer.session))).toEqual(['undone'])
    expect(results(await undo([once], maintainer.session))).toEqual(['not_under_review'])
    expect(results(await undo([other], admin.session))).toEqual(['forbidden'])
    gate.clock.advance(599_000)
    expect(results(await undo([other], maintainer.session))).toEqual(['undone'])
    gate.clock.advance(2_000)
    const answer = await undo([late, 2 ** 40], maintainer.session)
    expect([answer.status, results(answer)]).toEqual(['failed', ['not_under_review', 'not_found']])
    expect((await stateOf('bulk-undo-late')).status).toBe('published')
  })

  test('not after something else happened to the package', async () => {
    const name = 'bulk-undo-since'
    await bringIn(gate, { name })
    const id = await decide(name, 'accept_risk')
    await gate.call('POST', `/security/packages/${name}/1.0-1/quarantine`)
    expect(results(await undo([id]))).toEqual(['not_under_review'])
    expect((await stateOf(name)).status).toBe('quarantined')
    const gone = 'bulk-undo-gone'
    await bringIn(gate, { name: gone })
    const decided = await decide(gone, 'reject')
    await gate.call('DELETE', `/artifacts/${gone}/1.0-1`)
    expect(results(await undo([decided]))).toEqual(['not_found'])
  })

  test('several at once: those that cannot be undone do not stop the others, and each distribution is published once', async () => {
    const names = ['bulk-undo-x', 'bulk-undo-y', 'bulk-undo-z']
    for (const name of names) await bringIn(gate, { name })
    const ids: number[] = []
    for (const name of names) ids.push(await decide(name, 'accept_risk'))
    expect(results(await undo(ids.slice(1, 2)))).toEqual(['undone'])
    const revision = async () =>
      (await gate.call<{ items: object[] }>('GET', '/distributions/jammy/publications')).body.items.length
    const before = await revision()
    const answer = await undo(ids)
    expect([answer.status, results(answer)]).toEqual(['partial', ['undone', 'not_under_review', 'undone']])
    expect(await revision()).toBe(before + 1)
    for (const name of names) expect(await isOffered(name)).toBe(false)
  })
}
