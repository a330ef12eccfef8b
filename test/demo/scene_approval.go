package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/test/simcluster"
)

// approvalName is the scene of disruption that a person approves. It needs the admission of a real API server.
const approvalName = "approval"

// approver is the user who approves.
const approver = "anna"

// approvalScene shows a drifted node that is replaced once a person has approved that, and a second plan that is voided by a change.
func approvalScene() scene {
	return scene{
		Scene: demo.Scene{
			Name: approvalName, Flags: []string{"--feature-gates=OperationsPolicy=true"},
			Lines: []string{"disruption plan proposed", "disruption plan approved", "disruption plan is executed", "disrupting node(s)", "disruption plan executed", "disruption plan voided"},
		},
		onCloud: performApproval,
	}
}

func performApproval(p *play) (fmt.Stringer, error) {
	api, err := demo.NewClient(p.cluster.Kubeconfig, clientgoscheme.AddToScheme, opsv1alpha1.AddToScheme)
	if err != nil {
		return nil, err
	}
	if err := simcluster.RequireApproval(p.Ctx, api, approver); err != nil {
		return nil, err
	}
	p.Show.Line("An OperationsPolicy asks for approval of all disruption; the API server verifies who approves")
	one := demo.Cores("karpenter.kwok.sh/instance-cpu", "4")
	labeled := func(value string) demo.Edit {
		return demo.Set(map[string]any{"demo": value}, "spec", "template", "metadata", "labels")
	}
	if err := p.Pool(one, labeled("before")); err != nil {
		return nil, err
	}
	const pods = 3
	if _, err := p.Launch(pods); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := p.EditPool(one, labeled("after")); err != nil {
		return nil, err
	}
	p.Show.Line("NodePool edited: its node drifts, and the policy asks for approval")
	first, err := p.awaitPlan(api, "the replacement of the node is proposed", "", opsv1alpha1.PlanProposed)
	if err != nil {
		return nil, err
	}
	if p.Logged.Count("disrupting node(s)") > 0 {
		return nil, fmt.Errorf("%w: a node was disrupted before its plan was approved", demo.ErrBroken)
	}
	if err := p.approve(first); err != nil {
		return nil, err
	}
	if _, err := p.awaitPlan(api, "the approved plan is executed", first, opsv1alpha1.PlanExecuted); err != nil {
		return nil, err
	}
	took := time.Since(start)
	if err := p.EditPool(one, labeled("again")); err != nil {
		return nil, err
	}
	second, err := p.awaitPlan(api, "a second plan is proposed", "", opsv1alpha1.PlanProposed)
	if err != nil {
		return nil, err
	}
	if err := p.Scale(pods - 1); err != nil {
		return nil, err
	}
	if _, err := p.awaitPlan(api, "the second plan is voided, because a pod is gone", second, opsv1alpha1.PlanVoided); err != nil {
		return nil, err
	}
	if n := p.Logged.Count("disrupting node(s)"); n != 1 {
		return nil, fmt.Errorf("the controller disrupted %d times, want once", n)
	}
	return demo.FigureLine(fmt.Sprintf("approval: plan %s approved by %s and executed %.1f s after the edit; plan %s voided, nothing disrupted without approval",
		first, approver, took.Seconds(), second)), nil
}

// awaitPlan waits until a plan has a phase, and returns its name; any plan if name is "".
func (p *play) awaitPlan(api client.Client, what, name string, phase opsv1alpha1.PlanPhase) (string, error) {
	_, err := p.Await(what, func(demo.Counts) (bool, error) {
		var list opsv1alpha1.DisruptionPlanList
		if err := api.List(p.Ctx, &list); err != nil {
			return false, err
		}
		for i := range list.Items {
			plan := &list.Items[i]
			if (name == "" || plan.Name == name) && plan.Status.Phase == phase {
				name = plan.Name
				return true, nil
			}
		}
		return false, nil
	})
	return name, err
}

// approve approves a plan by the CLI, as the user. The administrator, who is the controller here, must not.
func (p *play) approve(plan string) error {
	run := func(as ...string) (string, error) {
		args := append([]string{"plan", "approve", plan, "--kubeconfig=" + p.cluster.Kubeconfig, "--reason=shown in the demo"}, as...)
		cmd := exec.CommandContext(p.Ctx, p.settings.controller, args...)
		cmd.Env = os.Environ()
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := run(); err == nil {
		return fmt.Errorf("%w: the controller may approve its own plan: %s", demo.ErrBroken, out)
	}
	p.Show.Line("the controller's own account cannot approve: the API server refuses it")
	out, err := run("--as=" + approver)
	if err != nil {
		return errors.Join(err, errors.New(out))
	}
	p.Show.Line("karpenter plan approve " + plan + " --as=" + approver + ": " + out)
	return nil
}
