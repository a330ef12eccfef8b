package controller

import (
	"github.com/karpenter-anew/karpenter/internal/controller/bookkeeper"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
)

// Ledger is where decisions are recorded.
type Ledger = bookkeeper.Source

// recordDecisions makes the controllers record their decisions, unless that is turned off.
func recordDecisions(shared *deps.Shared, p Parts) []Controller {
	if p.Ledger.Records == nil {
		return nil
	}
	shared.Books = bookkeeper.New(bookkeeper.Deps{
		Ledger: p.Ledger.Records, Clock: p.Clock, Client: shared.Client, Cloud: shared.Cloud, Metrics: p.Metrics,
	})
	return []Controller{bookkeeper.NewFollower(shared.Books, shared.Cloud, p.Ledger.Begin, p.Log)}
}
