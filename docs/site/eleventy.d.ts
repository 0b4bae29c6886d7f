/** What the site uses of eleventy, which has no types of its own. */
declare module '@11ty/eleventy' {
  export default class Eleventy {
    constructor(input: string, output: string, options: object)
    toJSON(): Promise<unknown>
  }
}
