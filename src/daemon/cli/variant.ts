import { UsageError } from '../runtime/usage-error.ts'
import type { Context } from './command.ts'
import { COMMON, CONFIGURING } from './help.ts'

/**
 * The option that has the command do something else, such as `--usage` of `list`; `''` without one. `variants` has the
 * options that go with each. Throws `UsageError` for another one.
 */
export function variantIn<Variant extends string>(
  { values }: Context,
  variants: Readonly<Record<Variant | '', readonly string[]>>,
): Variant | '' {
  const own = Object.keys(values).filter((name) => !Object.hasOwn({ ...CONFIGURING, ...COMMON }, name))
  const variant = own.find((name): name is Variant => Object.hasOwn(variants, name)) ?? ''
  const other = own.find((name) => name !== variant && !variants[variant].includes(name))
  if (other === undefined) return variant
  const [owner] = Object.entries<readonly string[]>(variants).find(([, options]) => options.includes(other)) ?? []
  throw new UsageError(`--${other} ${variant === '' ? `goes with --${owner}` : `does not go with --${variant}`}`)
}
