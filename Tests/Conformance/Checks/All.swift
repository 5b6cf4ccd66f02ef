/// Every check.
func everyCheck() -> Suite {
  var suite = Suite()
  addPathChecks(&suite)
  addOpenChecks(&suite)
  addLinkChecks(&suite)
  addUnlinkChecks(&suite)
  addRenameChecks(&suite)
  addDirectoryChecks(&suite)
  addListingChecks(&suite)
  addModeChecks(&suite)
  addOwnerChecks(&suite)
  addPermissionChecks(&suite)
  addTimeChecks(&suite)
  addNodeChecks(&suite)
  addSizeChecks(&suite)
  addSparseChecks(&suite)
  addLockChecks(&suite)
  addNameChecks(&suite)
  addExtendedChecks(&suite)
  return suite
}
