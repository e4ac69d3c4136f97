// The ecosystems that repositories can be for, as people call them.
export const REGISTRIES = { npm: 'npm', pypi: 'PyPI' } as const

export type Registry = keyof typeof REGISTRIES
