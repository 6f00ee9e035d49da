package gateway

// connected ends a call whose caller has no account at the server's provider.
func connected(c *call, next next) *failure {
	if !c.req.isCall() {
		return next(c)
	}
	if c.account.Awaits() {
		c.deadline.Suspend()
		c.account.Await(c.ctx, c.deadline.Left()/2)
		c.deadline.Alive()
	}
	if c.account.Missing != nil {
		return settled(c.invite(c.account.Missing, nil))
	}
	return next(c)
}
