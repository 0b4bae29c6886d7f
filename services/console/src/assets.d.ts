/** What Vite turns imports of other kinds of files into. */
declare module '*.css'
declare module '*.svg' {
  const url: string
  export default url
}
