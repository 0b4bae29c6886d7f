/** The editor for a SmartModule's source. It lives in a shadow root, where its styles need no exception from the page's CSP. */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completeAnyWord,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, indentOnInput, StreamLanguage, syntaxHighlighting } from '@codemirror/language'
import { typescript } from '@codemirror/legacy-modes/mode/javascript'
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { EditorState, Prec } from '@codemirror/state'
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { sdk } from 'virtual:sdk-words'

export type Mark = { line?: number | undefined; column?: number | undefined; message: string }

const THEME = EditorView.theme({
  '&': {
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius, 4px)',
    fontSize: '0.875rem',
    background: 'var(--surface, transparent)',
  },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '2px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, monospace', lineHeight: '1.5', maxHeight: '70vh' },
  // A click below the last line is one into the text.
  '.cm-content, .cm-gutter': { minHeight: '24em' },
  '.cm-content': { caretColor: 'light-dark(#000, #fff)' },
  '.cm-cursor': { borderLeftColor: 'light-dark(#000, #fff)' },
  '.cm-gutters': { background: 'transparent', border: 'none', color: 'light-dark(#5c5c58, #a9afb7)' },
  '.cm-activeLine': { background: 'light-dark(#0000000a, #ffffff0f)' },
  '.cm-tooltip': { background: 'light-dark(#fff, #22262b)', color: 'light-dark(#1b1b1a, #eceef0)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'light-dark(#1f5fa8, #8ab8ee)', color: 'light-dark(#fff, #111)' },
  '.cm-completionInfo': { maxWidth: '28em', whiteSpace: 'normal' },
})
const COLORS = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier], color: 'light-dark(#8a1f6a, #f29ad8)' },
  { tag: [tags.string, tags.regexp], color: 'light-dark(#1d6b2e, #93d9a3)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'light-dark(#8a4600, #f0b673)' },
  { tag: [tags.comment], color: 'light-dark(#5c5c58, #a9afb7)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className], color: 'light-dark(#1f5fa8, #8ab8ee)' },
])

const LANGUAGE = StreamLanguage.define(typescript)

/** Typing over a selection: the browser would keep the selection's look by a style attribute, which the page's CSP refuses. */
const typeOver = EditorView.domEventHandlers({
  beforeinput({ inputType, data }, editor) {
    const { state } = editor
    const { empty, from, to } = state.selection.main
    if (inputType !== 'insertText' || data === null || empty || editor.composing) return false
    const insert = () => state.update(state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
    if (!state.facet(EditorView.inputHandler).some((handle) => handle(editor, from, to, data, insert))) editor.dispatch(insert())
    return true
  },
})

/** The SDK's class that a name has in this text, as far as it says so: `record: Record`, `amount = new Path(…)`. */
function classOf(text: string, name: string): string | undefined {
  const [, declared] = new RegExp(`\\b${name}\\s*:\\s*(\\w+)`).exec(text) ?? []
  const [, made] = new RegExp(`\\b${name}\\s*=\\s*new\\s+(\\w+)`).exec(text) ?? []
  return [declared, made].find((each) => each !== undefined && each in sdk.members)
}

/** What the SDK offers here: a class's members behind a point, else what it exports. */
function complete(context: CompletionContext): CompletionResult | null {
  const member = context.matchBefore(/\w+\.\w*/)
  if (member) {
    const [name = ''] = member.text.split('.')
    const known = classOf(context.state.doc.toString(), name)
    return known === undefined ? null : { from: member.from + name.length + 1, options: sdk.members[known] ?? [], validFor: /^\w*$/ }
  }
  const word = context.matchBefore(/\w+/)
  if (!word && !context.explicit) return null
  return { from: word?.from ?? context.pos, options: sdk.exports, validFor: /^\w*$/ }
}

/** Index of a mark's place in the text; lines and columns count from 1. */
function placeOf(state: EditorState, { line = 1, column = 1 }: Mark): number {
  const at = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines))
  return Math.min(at.from + Math.max(column - 1, 0), at.to)
}

export function CodeEditor({
  value,
  onChange,
  onRun,
  onSave,
  marks,
  goTo,
}: {
  value: string
  onChange(next: string): void
  /** Ctrl-Enter or ⌘-Enter. */
  onRun(): void
  /** Ctrl-S or ⌘-S. */
  onSave(): void
  marks: readonly Mark[]
  /** The cursor goes there, each time that it is another object. */
  goTo: Mark | undefined
}) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const latest = useRef({ onChange, onRun, onSave })
  latest.current = { onChange, onRun, onSave }

  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const calls = (name: 'onRun' | 'onSave') => () => {
      latest.current[name]()
      return true
    }
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          // Tab leaves the editor, as everywhere on the page; Ctrl-] indents.
          Prec.highest(
            keymap.of([
              { key: 'Mod-Enter', run: calls('onRun') },
              { key: 'Mod-s', run: calls('onSave'), preventDefault: true },
            ]),
          ),
          lineNumbers(),
          highlightActiveLine(),
          history(),
          bracketMatching(),
          closeBrackets(),
          typeOver,
          indentOnInput(),
          lintGutter(),
          autocompletion({ override: [complete, (context) => (context.matchBefore(/\.\w*/) ? null : completeAnyWord(context))] }),
          // Tokens are all that is needed of the language: a parser's tables would be a fifth of the console.
          LANGUAGE,
          syntaxHighlighting(COLORS),
          THEME,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': 'Code', spellcheck: 'false' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString())
          }),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        ],
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [])

  // Text that comes from elsewhere, such as an earlier version's. At once, while nothing that was typed is newer than `value`.
  useLayoutEffect(() => {
    const editor = view.current
    if (editor && editor.state.doc.toString() !== value.replaceAll('\r\n', '\n'))
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } })
  }, [value])

  useEffect(() => {
    const editor = view.current
    if (!editor) return
    const found = marks
      .filter(({ line }) => line !== undefined)
      .map((mark) => {
        const from = placeOf(editor.state, mark)
        return { from, to: editor.state.wordAt(from)?.to ?? from, severity: 'error' as const, message: mark.message }
      })
    editor.dispatch(setDiagnostics(editor.state, found))
  }, [marks])

  useEffect(() => {
    const editor = view.current
    if (!editor || !goTo) return
    editor.dispatch({ selection: { anchor: placeOf(editor.state, goTo) }, scrollIntoView: true })
    editor.focus()
  }, [goTo])

  return <div ref={host} class="code" />
}
