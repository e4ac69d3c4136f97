// The facts about each page that the frame uses. routes.tsx declares the pages themselves.
import { useRouter, type AnyRoute } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'
import { useMemo } from 'react'
import type { Access } from '../../../src/domain/roles.ts'

export interface PageFacts {
  title: string
  /** null: for everybody, also without a session */
  access: Access | null
  /** keys after `g` that open the page */
  keys?: string
  group?: keyof typeof GROUPS
  /** beside the title, in the navigation */
  icon?: LucideIcon
}

/** The groups of the navigation, in order. The first has no heading. */
export const GROUPS = {
  start: null,
  packages: 'Packages',
  security: 'Security',
  administration: 'Administration',
} as const

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    page?: PageFacts
  }
}

export interface NavigationEntry extends PageFacts {
  path: string
}

/** The pages of the navigation, in order. */
export function useNavigation(): readonly NavigationEntry[] {
  const { routeTree } = useRouter()
  return useMemo(
    () =>
      (routeTree.children as readonly AnyRoute[]).flatMap(({ options }) => {
        const { staticData, path } = options as { staticData?: { page?: PageFacts }; path?: string }
        return staticData?.page?.group ? [{ path: String(path), ...staticData.page }] : []
      }),
    [routeTree],
  )
}
