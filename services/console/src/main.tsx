/** The console's entry: who is signed in, and which screen the address names. */
import { options, render } from 'preact'
import { lazy, LocationProvider, Route, Router } from 'preact-iso'
import { HOME } from './api.ts'
import { plain } from './format.ts'
import { PageLayout } from './parts/page-layout.tsx'
import { Overview } from './screens/overview.tsx'
import { Dialog } from './parts/dialog.tsx'
import { SignIn, SignInForm } from './screens/sign-in.tsx'
import { hasEnded, isAsking, link, openSession, session } from './session.ts'
import './style.css'

const Pipeline = lazy(() => import('./screens/pipeline.tsx').then(({ Pipeline: each }) => each))
const RecordScreen = lazy(() => import('./screens/record.tsx').then(({ RecordScreen: each }) => each))
const DeadLetters = lazy(() => import('./screens/dead-letters.tsx').then(({ DeadLetters: each }) => each))
const Start = lazy(() => import('./screens/start.tsx').then(({ Start: each }) => each))
const NewPipeline = lazy(() => import('./screens/pipeline-form.tsx').then(({ NewPipeline: each }) => each))
const ChangePipeline = lazy(() => import('./screens/pipeline-form.tsx').then(({ ChangePipeline: each }) => each))
const Streams = lazy(() => import('./screens/streams.tsx').then(({ Streams: each }) => each))
const Stream = lazy(() => import('./screens/stream.tsx').then(({ Stream: each }) => each))
const SmartModules = lazy(() => import('./screens/smartmodules.tsx').then(({ SmartModules: each }) => each))
const Editor = lazy(() => import('./screens/editor.tsx').then(({ Editor: each }) => each))
const Connectors = lazy(() => import('./screens/connectors.tsx').then(({ Connectors: each }) => each))
const Lineage = lazy(() => import('./screens/lineage.tsx').then(({ Lineage: each }) => each))
const Jobs = lazy(() => import('./screens/jobs.tsx').then(({ Jobs: each }) => each))
const Manifests = lazy(() => import('./screens/manifests.tsx').then(({ Manifests: each }) => each))
const Access = lazy(() => import('./screens/access.tsx').then(({ Access: each }) => each))
const Audit = lazy(() => import('./screens/audit.tsx').then(({ Audit: each }) => each))
const You = lazy(() => import('./screens/you.tsx').then(({ You: each }) => each))

function Missing() {
  return <p class="quiet">There is no such page.</p>
}

const at = (path: string): string => HOME.pathname + path

function App() {
  if (session.value === undefined) return <p class="quiet">Signing in…</p>
  if (session.value === null) return <SignIn />
  return (
    <PageLayout>
      {((hasEnded.value && isAsking.value) || link.value !== undefined) && (
        <Dialog
          title={hasEnded.value ? 'Your session has ended' : 'Sign in'}
          onClose={() => {
            link.value = undefined
            isAsking.value = false
          }}
        >
          <SignInForm />
        </Dialog>
      )}
      <Router>
        <Route path={at('')} component={Overview} />
        <Route path={at('pipelines')} component={Overview} />
        <Route path={at('pipelines/new')} component={NewPipeline} />
        <Route path={at('pipelines/:id')} component={Pipeline} />
        <Route path={at('pipelines/:id/change')} component={ChangePipeline} />
        <Route path={at('pipelines/:id/records/:partition/:offset')} component={RecordScreen} />
        <Route path={at('pipelines/:id/dead-letters')} component={DeadLetters} />
        <Route path={at('start')} component={Start} />
        <Route path={at('streams')} component={Streams} />
        <Route path={at('streams/:id')} component={Stream} />
        <Route path={at('smartmodules')} component={SmartModules} />
        <Route path={at('smartmodules/:id')} component={Editor} />
        <Route path={at('connectors')} component={Connectors} />
        <Route path={at('lineage')} component={Lineage} />
        <Route path={at('jobs')} component={Jobs} />
        <Route path={at('manifests')} component={Manifests} />
        <Route path={at('access')} component={Access} />
        <Route path={at('audit')} component={Audit} />
        <Route path={at('you')} component={You} />
        <Route default component={Missing} />
      </Router>
    </PageLayout>
  )
}

// Records, names and messages are others' texts: none of them may show another text than it holds.
const { vnode: before } = options
options.vnode = (vnode) => {
  const text = vnode as { props: unknown }
  if (typeof text.props === 'string') text.props = plain(text.props)
  before?.(vnode)
}
// After an upgrade the files of the version before are gone.
addEventListener('vite:preloadError', () => location.reload())
void openSession()
render(
  <LocationProvider scope={HOME.pathname}>
    <App />
  </LocationProvider>,
  document.querySelector('#app')!,
)
