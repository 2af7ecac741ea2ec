import { html } from './html.ts'
import type { Html } from './html.ts'

/**
 * Renders a text to copy. The script adds the button; without it, the text is selected by hand. `what`: the label of
 * the button for screen readers.
 */
export function snippet(where: string, text: string, what: string, isWrapped = where === 'Shell'): Html {
  return html`<div class="snippet${isWrapped ? ' shell' : ''}" data-what="${what}">
    <div><span>${where}</span></div>
    <pre tabindex="0">${text}</pre>
  </div>`
}
