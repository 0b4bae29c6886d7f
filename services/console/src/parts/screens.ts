/** The screens that links and Ctrl-K lead to. */
import { may } from '../session.ts'

type Screen = {
  name: string
  path: string
  /** Has a link at the head of every page. */
  isMain: boolean
  /** Seen by those who have it. */
  scope?: Parameters<typeof may>[0]
}

const SCREENS: readonly Screen[] = [
  { name: 'Pipelines', path: '', isMain: true },
  { name: 'New pipeline', path: 'start', isMain: false },
  { name: 'Streams', path: 'streams', isMain: true },
  { name: 'SmartModules', path: 'smartmodules', isMain: true },
  { name: 'New SmartModule', path: 'smartmodules/new', isMain: false },
  { name: 'Connectors', path: 'connectors', isMain: true },
  { name: 'Lineage', path: 'lineage', isMain: true },
  { name: 'Jobs', path: 'jobs', isMain: true },
  { name: 'Manifests', path: 'manifests', isMain: true },
  { name: 'Access', path: 'access', isMain: true, scope: 'keys:read' },
  { name: 'Audit', path: 'audit', isMain: true, scope: 'audit:read' },
  { name: 'You', path: 'you', isMain: false },
]

/** Those that the person who is signed in may see. */
export const ownScreens = (): Screen[] => SCREENS.filter(({ scope }) => scope === undefined || may(scope))
