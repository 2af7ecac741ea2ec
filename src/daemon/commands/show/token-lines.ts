import { agoText, dueText } from '../../../base/text/age-text.ts'
import { countOf } from '../../../base/text/plural.ts'
import { shellWord } from '../../../base/text/shell-word.ts'
import type { Paint } from '../../cli/colors.ts'
import type { HttpStatus } from '../../status/status.ts'

/** The lines of the status about tokens: their number, and those that expire. */
export function tokenLines({ tokens }: HttpStatus, now: Date, paint: Paint): readonly string[] {
  const expiring = tokens.expiring ?? []
  const lines = expiring.slice(0, SHOWN).map(({ name, expires }) => {
    const isExpired = Date.parse(expires) <= now.getTime()
    const when = isExpired ? `expired ${agoText(expires, now)}` : `expires ${dueText(expires, now)}`
    return paint(isExpired ? 'red' : 'yellow', `! token ${name} ${when}; skillsyncd token renew ${shellWord(name)}`)
  })
  const left = expiring.length - lines.length
  return [accessText(tokens), ...lines, ...(left > 0 ? [`  ${left} more; skillsyncd token list shows them`] : [])]
}

const SHOWN = 5

function accessText({ required, count }: HttpStatus['tokens']): string {
  const need = required ? 'clients need a token' : 'clients need no token'
  if (count === undefined) return `${need}; the tokens cannot be read, so none is accepted`
  if (count === 0) return required ? `${need}, and there is none` : need
  return `${need}; there ${count === 1 ? 'is' : 'are'} ${countOf(count, 'token')}`
}
