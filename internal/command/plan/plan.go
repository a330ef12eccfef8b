// Package plan is karpenter plan: it lists and shows DisruptionPlans, and approves or rejects them.
package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/approval"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
)

// Command groups the subcommands.
type Command struct {
	List    List    `cmd:"" help:"List the DisruptionPlans."`
	Show    Show    `cmd:"" help:"Show what a DisruptionPlan does, and what has become of it."`
	Approve Approve `cmd:"" help:"Approve a DisruptionPlan: the controller executes it, if it is still possible."`
	Reject  Reject  `cmd:"" help:"Reject a DisruptionPlan: it is not proposed again for a day while nothing changes."`
}

// Help is shown above the subcommands.
func (*Command) Help() string {
	return "Disruption that an OperationsPolicy asks approval for waits as a DisruptionPlan. docs/disruption-plans.md explains it. Approving and rejecting " +
		"requires the verbs get, patch and approve of disruptionplans in the API group ops.karpenter.sh; the API server records who decided.\n\n" +
		"Exit codes: 0 the plans are printed, or the decision is made; 1 failure; 2 invalid command line; 3 the plan does not exist."
}

// List lists the plans.
type List struct {
	All    bool           `name:"all" short:"a" help:"Also those that have ended."`
	Output command.Output `name:"output" short:"o" default:"table" complete:"table,wide,json,yaml,name" placeholder:"FORMAT" help:"table, wide, json, yaml, name, or jsonpath=TEMPLATE (${default})."`
	Access source.Access  `embed:""`
}

// Show shows one plan.
type Show struct {
	Name   string         `arg:"" help:"Name of the DisruptionPlan."`
	Output command.Output `name:"output" short:"o" default:"table" complete:"table,wide,json,yaml,name" placeholder:"FORMAT" help:"table, wide, json, yaml, name, or jsonpath=TEMPLATE (${default})."`
	Access source.Access  `embed:""`
}

// Approve approves a plan.
type Approve struct {
	Name   string        `arg:"" help:"Name of the DisruptionPlan."`
	Reason string        `name:"reason" placeholder:"TEXT" help:"Why, at most 512 characters; it is recorded."`
	Access source.Access `embed:""`
}

// Reject rejects a plan.
type Reject struct {
	Name   string        `arg:"" help:"Name of the DisruptionPlan."`
	Reason string        `name:"reason" placeholder:"TEXT" help:"Why, at most 512 characters; it is recorded."`
	Access source.Access `embed:""`
}

// connect returns a client of the cluster.
func connect(access source.Access) (client.Client, error) {
	if err := access.Check(); err != nil {
		return nil, command.WithCode(err, command.ExitUsage)
	}
	config, err := access.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), opsv1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// Run implements the subcommand.
func (c *List) Run(s command.Streams) error {
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	api, err := connect(c.Access)
	if err != nil {
		return err
	}
	return c.list(ctx, api, s)
}

func (c *List) list(ctx context.Context, api client.Client, s command.Streams) error {
	var list opsv1alpha1.DisruptionPlanList
	if err := api.List(ctx, &list); err != nil {
		return explained(err, "listing disruption plans")
	}
	hidden := 0
	if !c.All {
		before := len(list.Items)
		list.Items = slices.DeleteFunc(list.Items, func(p opsv1alpha1.DisruptionPlan) bool { return p.Status.Phase.Final() })
		hidden = before - len(list.Items)
	}
	slices.SortFunc(list.Items, func(a, b opsv1alpha1.DisruptionPlan) int { return strings.Compare(a.Name, b.Name) })
	if hidden > 0 {
		_, _ = fmt.Fprintf(s.Err, "karpenter plan: %d plans that have ended are not listed; --all lists them\n", hidden)
	}
	return printList(s.Out, list.Items, c.Output)
}

// Run implements the subcommand.
func (c *Show) Run(s command.Streams) error {
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	api, err := connect(c.Access)
	if err != nil {
		return err
	}
	plan, err := read(ctx, api, c.Name)
	if err != nil {
		return err
	}
	return printOne(s.Out, plan, c.Output)
}

// read reads a plan.
func read(ctx context.Context, api client.Client, name string) (*opsv1alpha1.DisruptionPlan, error) {
	plan := &opsv1alpha1.DisruptionPlan{}
	err := api.Get(ctx, client.ObjectKey{Name: name}, plan)
	if apierrors.IsNotFound(err) {
		return nil, command.WithCode(fmt.Errorf("there is no DisruptionPlan %q; karpenter plan list shows them", name), command.ExitNotFound)
	}
	return plan, explained(err, "reading the disruption plan")
}

// explained says what to do about an error, where that is known.
func explained(err error, what string) error {
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%s: the cluster has no DisruptionPlans; install the CRDs, and turn the feature gate OperationsPolicy on: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Run implements the subcommand.
func (c *Approve) Run(s command.Streams) error {
	return run(c.Access, s, c.Name, opsv1alpha1.VerdictApproved, c.Reason)
}

// Run implements the subcommand.
func (c *Reject) Run(s command.Streams) error {
	return run(c.Access, s, c.Name, opsv1alpha1.VerdictRejected, c.Reason)
}

func run(access source.Access, s command.Streams, name string, verdict opsv1alpha1.Verdict, reason string) error {
	if len([]rune(reason)) > maxReason {
		return command.WithCode(fmt.Errorf("--reason has more than %d characters", maxReason), command.ExitUsage)
	}
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	api, err := connect(access)
	if err != nil {
		return err
	}
	return decide(ctx, api, s, name, opsv1alpha1.PlanDecision{Verdict: verdict, Reason: reason})
}

// maxReason is the most characters of the reason of a decision.
const maxReason = 512

// decide adds a decision to a plan, in the name of the user that the API server knows. The plan must not have changed since it was read.
func decide(ctx context.Context, api client.Client, s command.Streams, name string, d opsv1alpha1.PlanDecision) error {
	plan, err := read(ctx, api, name)
	if err != nil {
		return err
	}
	if before := plan.Spec.Decision; before != nil {
		return fmt.Errorf("disruption plan %q is decided already: %s by %s", name, before.Verdict, before.By)
	}
	if phase := plan.Status.Phase; phase.Final() {
		return fmt.Errorf("disruption plan %q has ended, its phase is %s", name, phase)
	}
	if d.By, err = approval.UserName(ctx, api); err != nil {
		return err
	}
	stored := plan.DeepCopy()
	plan.Spec.Decision = &d
	if err := api.Patch(ctx, plan, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		if apierrors.IsConflict(err) {
			return fmt.Errorf("disruption plan %q has changed since it was read; look at it once more: %w", name, err)
		}
		return fmt.Errorf("deciding about disruption plan %q: %w", name, err)
	}
	_, err = fmt.Fprintf(s.Out, "disruptionplan/%s %s by %s\n", name, strings.ToLower(string(d.Verdict)), d.By)
	return err
}
