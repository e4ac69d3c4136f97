// Starts the console.
import '@fontsource-variable/geist/wght.css'
import '@mantine/core/styles.css'
import '@mantine/spotlight/styles.css'
import './styles.css'
import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/problem.ts'
import { router } from './routes.tsx'
import { cssVariables, theme } from './theme.ts'

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
// Mantine's own styles get the nonce from the provider; the styles of react-remove-scroll (dialogs, palette) get it here.
setNonce(nonce)

// After an update, files of the older build are gone: loads the page again, once.
addEventListener('vite:preloadError', (event) => {
  if (sessionStorage.getItem('reloaded')) return
  sessionStorage.setItem('reloaded', '1')
  event.preventDefault()
  location.reload()
})
addEventListener('load', () => setTimeout(() => sessionStorage.removeItem('reloaded'), 10_000))

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A refusal by the server is final; only a lost connection is worth another try.
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError),
    },
  },
})

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
