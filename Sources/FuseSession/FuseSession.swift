// FuseSession
