/** A name that the Agent Skills specification allows: 1 to 64 of a-z, 0-9 and single inner hyphens. */
export type SkillName = string & { readonly [brand]: 'SkillName' }

declare const brand: unique symbol

const SHAPE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

/** The only check of the format. It does not trim or normalize: a name with a space around it is another name. */
export function isSkillName(text: string): text is SkillName {
  return text.length <= 64 && SHAPE.test(text)
}
