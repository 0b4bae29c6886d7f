/** The operations that the audit log has entries of: what changes something, signing in, and what operators do. */
export const AUDITED =
  `applyManifest cancelJob changePassword createAccount createKey createMember createMemberLink createPipeline createSecret
createSession createStream deleteKey deleteMember deletePipeline deleteSecret deleteSession deleteSmartModule deleteStream deploySmartModule
pausePipeline promoteCanary redriveDeadLetters replayPipeline resetOffsets restartPipeline resumeAccount resumePipeline setQuotas startPipeline
stopPipeline suspendAccount updateMember updatePipeline updateSecret updateStream`.split(/\s/)
