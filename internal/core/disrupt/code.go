package disrupt

// OfSimulation reports whether the obstacle is what a simulation of consolidation found.
func (c Code) OfSimulation() bool {
	return c == NoOtherPlace || c == SeveralReplacements || c == NotCheaper || c == tooFewValues
}

// OfBudgets reports whether the obstacle is that budgets do not allow enough.
func (c Code) OfBudgets() bool { return c == NodePoolBudgetExhausted || c == podGroupOverBudget }

// OfClosure reports whether the obstacle is that operations policies do not allow disruption now.
func (c Code) OfClosure() bool { return c == outsideWindow || c == frozen || c == invalidPolicy }

// rule is the rule of a code.
func (c Code) rule() Rule { return ruleOf()[c] }

// Remedy is what helps against obstacles of the code in general.
func (c Code) Remedy() string { return c.rule().Remedy }

// Event is how the obstacle is published.
func (c Code) Event() Event { return c.rule().Event }

// Verbatim reports whether the text of the obstacle is published as it is, and not with an upper-case first letter.
func (c Code) Verbatim() bool {
	return c == noPoolForRepair || c == repairProtected || c == noGracePeriodForRepair || c == NodeLimit || c == reservationsFull
}

// OfPool reports whether the event is a warning on the NodePool, too.
func (c Code) OfPool() bool { return c == tooManyUnhealthy }
