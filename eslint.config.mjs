// Lint rules: typescript-eslint's strict type-checked set. Every exception is named here, with its reason.
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

export default defineConfig(
  globalIgnores(['**/dist/', 'data/', '**/node_modules/', 'client/src/operations.ts', 'cli/gatehouse.mjs']),
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: [
          'tsconfig.json',
          'tsconfig.scripts.json',
          'client/tsconfig.json',
          'cli/tsconfig.json',
          'web/tsconfig.json',
        ],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // Splitting a string into code points is what its users here want.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // Numbers read well in messages; everything else still needs a conversion.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => work()` is how callbacks are written here.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Parts are records of closures made by `createX`; they have no `this` to lose.
      '@typescript-eslint/unbound-method': 'off',
      // A function may be async because the interface it implements is, or so that it rejects instead of throwing.
      '@typescript-eslint/require-await': 'off',
      // openpgp returns a Key where it asks for a PublicKey, a class; its functions read either.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // `noUncheckedIndexedAccess` makes every index optional; `!` states that it is inside the bounds.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    // Answers are read as JSON of any shape, and the assertions are the check.
    files: [
      'test/**',
      'bench/**',
      'bin/**',
      'deploy/**',
      '**/*.test.ts',
      '**/*.fixture.ts',
      '**/fixture.ts',
      '*.mjs',
      '*.ts',
    ],
    rules: {
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/use-unknown-in-catch-callback-variable': 'off',
      // What beforeAll sets is missing in afterAll when beforeAll failed: `await gate?.close()`.
      '@typescript-eslint/no-unnecessary-condition': 'off',
    },
  },
)
