/** Limits on what a marketplace can make a survey read and store. */
export interface MarketplaceLimits {
  /** The size of a marketplace file. */
  readonly fileBytes: number
  /** The plugins of a file, and of all files together. */
  readonly plugins: number
  /** The paths in one entry or manifest. */
  readonly paths: number
  /** Limits on one plugin. They use up no common sum: what is found in a folder depends on that folder alone. */
  readonly plugin: PluginLimits
  /** The files of all plugins. */
  readonly opened: number
  /** The JSON of the folders of plugins, and that of the groups, in characters. */
  readonly stored: number
}

/** Limits on the folder of one plugin. */
export interface PluginLimits {
  /** The size of a manifest, or of a file of hooks or servers. */
  readonly fileBytes: number
  /** The files and folders that its manifests name. More are not counted. */
  readonly named: number
  /** The files and folders in those folders. More are not counted. */
  readonly counted: number
}

/** The largest marketplace that is known has 286 plugins. */
export const MARKETPLACE_LIMITS: MarketplaceLimits = {
  fileBytes: 2 ** 20,
  plugins: 2_000,
  paths: 1_000,
  plugin: { fileBytes: 2 ** 16, named: 16, counted: 10_000 },
  opened: 5_000,
  stored: 2 ** 22,
}
