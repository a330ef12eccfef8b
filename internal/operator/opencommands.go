package operator

import (
	"context"
	"time"

	"github.com/karpenter-anew/karpenter/internal/controller"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// commander is the controller that decides on disruption.
type commander interface {
	// Commands are those that wait or are under way.
	Commands(ctx context.Context) []controller.OpenCommand
	// CommandChanges increases whenever they may have changed.
	CommandChanges() uint64
}

// openCommands are the commands of the process. It implements view.CommandReader.
type openCommands struct {
	of      commander
	leading func() bool
}

// Commands implements view.CommandReader.
func (o openCommands) Commands(ctx context.Context) ([]view.OpenCommand, bool) {
	if !o.leading() {
		return nil, false
	}
	var out []view.OpenCommand
	for _, c := range o.of.Commands(ctx) {
		shown := view.NewOpenCommand(c.Command)
		shown.Decided, shown.Plan = known(c.Decided), c.Plan
		if c.Started.IsZero() {
			shown.Due = known(c.Due)
		} else {
			shown.State, shown.Started, shown.WaitsFor = view.UnderWay, known(c.Started), c.WaitsFor()
		}
		if len(c.Launched) > 0 {
			shown.Replacements = c.Launched
		}
		out = append(out, shown)
	}
	return out, true
}

// Changes implements view.CommandReader.
func (o openCommands) Changes() uint64 { return o.of.CommandChanges() }

// known is a time, nil for the zero time.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
