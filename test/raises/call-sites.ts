import { getCallSites, type CallSiteObject } from 'node:util'

/** From an error to the place that raises it: the constructors of its classes, and a function that makes it. */
const MOST_FRAMES = 8

/**
 * Shows where each error of these classes is made. The program needs no code for it: the classes get a parent here that
 * looks at the stack.
 */
export function watchRaises(classes: readonly object[], see: (site: CallSiteObject) => void): void {
  class Watched extends Error {
    constructor(message?: string, options?: ErrorOptions) {
      super(message, options)
      for (const site of getCallSites(MOST_FRAMES)) see(site)
    }
  }
  for (const one of classes) Object.setPrototypeOf(one, Watched)
}

/** A call site in one line, as a thread reports it. */
export function lineOf({ scriptName, lineNumber, columnNumber }: CallSiteObject): string {
  return `${lineNumber} ${columnNumber} ${scriptName}\n`
}
