// What deletions and promotions answer about packages that they break.
import Type from 'typebox'

export const BreakageKeys = {
  would_break: Type.Array(
    Type.Object(
      {
        name: Type.String(),
        version: Type.String(),
        arch: Type.String(),
        distribution: Type.String(),
        requirement: Type.String({ description: 'as the package states it; nothing else satisfies it' }),
      },
      { title: 'BrokenPackage' },
    ),
    { maxItems: 100 },
  ),
  would_break_total: Type.Integer(),
  warnings: Type.Array(Type.String(), { maxItems: 20 }),
}

export const DryRun = Type.Optional(
  Type.Boolean({ default: false, description: 'changes nothing and says what would happen' }),
)
