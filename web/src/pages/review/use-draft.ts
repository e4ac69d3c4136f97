// The draft of a decision about one record, kept in this tab until it is sent.
import { useEffect, useRef, useState } from 'react'
import { useSession } from '../../session/session.ts'
import { EMPTY_DRAFT, type Draft } from './decision.ts'
import { draftKey, forgetDraft, keepDraft, keptDraft } from './drafts.ts'
import type { Ending } from './ending.ts'
import type { Action } from './item.ts'
import type { RecordId } from './record-id.ts'

interface DraftProps {
  record: RecordId
  /** the end that an approval has unless the person chooses another */
  ending: Ending
  action: Action | null
  /** opens the form that was open when the text was typed */
  reopen: (action: Action) => void
}

export function useDraft({ record, ending, action, reopen }: DraftProps) {
  const key = draftKey(useSession()?.user?.username ?? '', record)
  const [kept] = useState(() => keptDraft(sessionStorage, key))
  const [typed, setDraft] = useState<Draft | null>(kept?.draft ?? null)
  const isSent = useRef(false)
  const fresh: Draft = { ...EMPTY_DRAFT, ending }
  useEffect(() => {
    if (kept?.action && action === null) reopen(kept.action)
    // Only when the record is opened.
  }, [])
  useEffect(() => {
    if (typed !== null && !isSent.current) keepDraft(sessionStorage, key, { action, draft: typed })
  }, [key, action, typed])
  return {
    fresh,
    draft: typed ?? fresh,
    setDraft,
    /** it was sent: nothing is kept */
    forget: () => {
      isSent.current = true
      forgetDraft(sessionStorage, key)
    },
  }
}
