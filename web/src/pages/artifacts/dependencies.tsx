// The package's requirements as a tree that is read level by level, each with the package that satisfies it; missing ones first.
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { read, type Answered } from '../../api/api.ts'
import { Answer, Empty } from '../../parts/answer.tsx'
import { Toned } from '../../parts/marks.tsx'
import { count } from '../../parts/words.ts'
import { useMay } from '../../session/session.ts'
import type { PackageRecord } from '../../parts/record.ts'

type Needs = Answered<'GET /artifacts/{name}/dependencies'>
type Dependency = Needs['dependencies'][number]
type Node = Pick<PackageRecord, 'name' | 'version' | 'arch'>

/** Requirements of one package that are drawn at once; the largest package of Debian 12 has 980. */
const AT_ONCE = 100

export function Dependencies({ record }: { record: PackageRecord }) {
  return <Level of={record} distribution={record.distribution} path={[record.name]} />
}

/** @param path names from the root to this package: a name that is already in it is not opened again */
function Level({ of, distribution, path }: { of: Node; distribution: string; path: readonly string[] }) {
  const { name, version, arch } = of
  const needs = useQuery(
    read('GET /artifacts/{name}/dependencies', { params: { name }, query: { version, distribution, arch } }),
  )
  return <Answer of={needs}>{(data) => <Requirements of={data} path={path} />}</Answer>
}

function Requirements({ of, path }: { of: Needs; path: readonly string[] }) {
  const { dependencies, dependencies_total: total, missing_total: missing, distribution } = of
  const [shown, setShown] = useState(AT_ONCE)
  const isRoot = path.length === 1
  if (total === 0) return isRoot ? <Empty title="It needs nothing" /> : <p>It needs nothing.</p>
  const sorted = [...dependencies].sort((a, b) => Number(a.available_internally) - Number(b.available_internally))
  return (
    <>
      {(isRoot || missing > 0) && (
        <p>
          {missing === 0
            ? `All ${count(total, 'dependency', 'dependencies')} are in ${distribution}.`
            : `${count(missing, 'dependency', 'dependencies')} of ${total} missing in ${distribution}.`}
        </p>
      )}
      <ul className="tree" aria-label={`Needs of ${of.package}`}>
        {sorted.slice(0, shown).map((one, i) => (
          <Branch key={`${one.name} ${one.version_constraint} ${i}`} of={one} distribution={distribution} path={path} />
        ))}
      </ul>
      {sorted.length > shown && (
        <Button size="compact-sm" variant="default" onClick={() => setShown(shown + AT_ONCE)}>
          {`Show ${Math.min(AT_ONCE, sorted.length - shown)} more of ${sorted.length}`}
        </Button>
      )}
      {total > dependencies.length && <p>{`The first ${dependencies.length} of ${total}.`}</p>}
    </>
  )
}

function Branch({ of, distribution, path }: { of: Dependency; distribution: string; path: readonly string[] }) {
  const { name, version_constraint: constraint, met_by: met, available_internally: here } = of
  const [open, setOpen] = useState(false)
  const isAbove = met !== null && path.includes(met.name)
  const text = `${name} ${constraint}`.trim()
  return (
    <li>
      {met && !isAbove ? (
        <button
          type="button"
          className="twist"
          aria-expanded={open}
          aria-label={`What ${met.name} needs`}
          onClick={() => setOpen(!open)}
        >
          {open ? '▾' : '▸'}
        </button>
      ) : null}
      {met?.name === name ? (
        <>
          <PackageLink of={met} distribution={distribution}>
            {name}
          </PackageLink>{' '}
          <span className="mono">{constraint}</span>
        </>
      ) : (
        <span className="mono">{text}</span>
      )}{' '}
      {met ? (
        <span className="about">
          {'met by '}
          {met.name === name ? (
            <span className="mono">{met.version}</span>
          ) : (
            <PackageLink of={met} distribution={distribution}>{`${met.name} ${met.version}`}</PackageLink>
          )}
          {isAbove && ', which is above'}
        </span>
      ) : here ? (
        <span className="about">provided by the package itself</span>
      ) : (
        <Missing of={of} />
      )}
      {open && met && <Level of={met} distribution={distribution} path={[...path, met.name]} />}
    </li>
  )
}

function PackageLink({ of, distribution, children }: { of: Node; distribution: string; children: string }) {
  const { name, version, arch } = of
  return (
    <Link to="/packages/$name" params={{ name }} search={{ version, distribution, arch, tab: 'dependencies' }}>
      {children}
    </Link>
  )
}

function Missing({ of: { name, available_upstream: upstream } }: { of: Dependency }) {
  const mayImport = useMay('uploader+')
  // The first of the alternatives, without its version and its architecture.
  const wanted = /^[^\s|(:]+/.exec(name)?.[0] ?? name
  return (
    <>
      <Toned tone="bad">missing</Toned>{' '}
      {upstream === false ? (
        <span className="about">in no source either</span>
      ) : mayImport ? (
        <Link to="/import" search={{ q: wanted }} aria-label={`import ${wanted}`}>
          import it
        </Link>
      ) : (
        <span className="about">{upstream ? 'a source has it' : 'no source was read'}</span>
      )}
    </>
  )
}
