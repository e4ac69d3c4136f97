// The mark of Gatehouse: two towers and a gate with its portcullis, as in logo.svg.
import { useId } from 'react'

export function Logo({ size = 22 }: { size?: number }) {
  const gate = useId()
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" className="logo">
      <clipPath id={gate}>
        <path d="M8 21v-6a4 4 0 0 1 8 0v6z" />
      </clipPath>
      <path fill="currentColor" d="M3 3h3.5v2.5h3V3h5v2.5h3V3H21v18h-5v-6a4 4 0 0 0-8 0v6H3z" />
      <path
        clipPath={`url(#${gate})`}
        stroke="currentColor"
        strokeWidth="1"
        fill="none"
        d="M10 10v8.6M12 10v8.6M14 10v8.6M7 14.2h10M7 17h10"
      />
    </svg>
  )
}
