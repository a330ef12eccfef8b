// Package workload reads the cases of the bench. A case is a directory with a case.yaml and the manifests of the
// NodePools, DaemonSets and, if the pods do not come from a generator, the workloads.
package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// fileName is the file that makes a directory a case.
const fileName = "case.yaml"

// Case is one workload, measured at several sizes.
type Case struct {
	// Name is the directory's.
	Name string `json:"-"`
	// Description is one sentence for the table's readers.
	Description string `json:"description"`
	// Catalog names the instance types: ladder-<n> or market-<n>, which are synthetic, generic, or a region such as aws/us-east-1.
	Catalog string `json:"catalog"`
	// CatalogFile is a file of instance types to use instead, relative to the case, in the format of the kwok provider.
	CatalogFile string `json:"catalogFile"`
	// Pods are the sizes to measure. Without any, the case has the pods its manifests or its trace have.
	Pods []int `json:"pods"`
	// QuickPods are the sizes of a quick run; without any, those of Pods up to 2000.
	QuickPods []int `json:"quickPods"`
	// Preferences is the preference policy: Respect if empty. Upstream does not have Economical, and runs with Respect instead.
	Preferences model.PreferencePolicy `json:"preferencePolicy"`
	// OursOnly leaves upstream out: for cases with existing nodes, and for those that take it too long.
	OursOnly bool `json:"oursOnly"`
	// Generator makes the pods. At most one of Mix and Trace is set. Running adds existing nodes that run pods of the mix.
	Generator struct {
		Mix     *Mix     `json:"mix"`
		Trace   *Trace   `json:"trace"`
		Running *Running `json:"running"`
	} `json:"generator"`

	folder string
}

// ErrNoTrace is for a case that needs a list of pods when none was given.
var ErrNoTrace = errors.New("it needs a list of pods: TRACE=file.csv")

// Folder is where the case is.
func (c Case) Folder() string { return c.folder }

// NeedsTrace reports whether the case takes its pods from a list that has to be given.
func (c Case) NeedsTrace() bool { return c.Generator.Trace != nil }

// Find lists the cases below folder, sorted by name.
func Find(folder string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", fileName))
	if err != nil {
		return nil, fmt.Errorf("looking for cases in %s: %w", folder, err)
	}
	var cases []Case
	for _, file := range files {
		c, err := Read(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// Read reads the case in folder.
func Read(folder string) (Case, error) {
	file := filepath.Join(folder, fileName)
	text, err := os.ReadFile(file)
	if err != nil {
		return Case{}, fmt.Errorf("reading a case: %w", err)
	}
	c := Case{Name: filepath.Base(folder), folder: folder}
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return Case{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := c.check(); err != nil {
		return Case{}, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

func (c Case) check() error {
	made := c.Generator.Mix != nil || c.Generator.Trace != nil
	switch {
	case (c.Catalog == "") == (c.CatalogFile == ""):
		return errors.New("give either catalog or catalogFile")
	case c.Preferences != "" && !slices.Contains([]model.PreferencePolicy{model.RespectPreferences, model.EconomicalPreferences, model.IgnorePreferences}, c.Preferences):
		return fmt.Errorf("preferencePolicy: %q is none of Respect, Economical and Ignore", c.Preferences)
	case c.Generator.Mix != nil && c.Generator.Trace != nil:
		return errors.New("generator: give either mix or trace")
	case c.Generator.Running != nil && c.Generator.Mix == nil:
		return errors.New("generator.running: it needs a mix to take its pods from")
	case c.Generator.Mix != nil && len(c.Pods) == 0:
		return errors.New("pods: a generated mix needs at least one size")
	case !made && len(c.Pods) > 0:
		return errors.New("pods: sizes need a generator; without one the case has the pods of its manifests")
	case slices.ContainsFunc(slices.Concat(c.Pods, c.QuickPods), func(n int) bool { return n <= 0 }):
		return errors.New("pods: sizes are positive")
	case c.Generator.Mix != nil:
		return c.Generator.Mix.check()
	}
	return nil
}

// mostQuickPods is the size up to which a case is part of a quick run unless it says otherwise.
const mostQuickPods = 2000

// Sizes are the numbers of pods to measure. 0 stands for as many as there are.
func (c Case) Sizes(quick bool) []int {
	sizes := c.Pods
	if quick {
		if sizes = c.QuickPods; len(sizes) == 0 {
			sizes = slices.DeleteFunc(slices.Clone(c.Pods), func(n int) bool { return n > mostQuickPods })
		}
	}
	if len(c.Pods) == 0 && len(sizes) == 0 {
		return []int{0}
	}
	return sizes
}

// Input is the case at one of its sizes. trace is the path of the list of pods, for the cases that need one.
func (c Case) Input(ctx context.Context, size int, trace string) (contest.Input, error) {
	in := contest.Input{Preferences: c.Preferences}
	objects, err := c.objects()
	if err == nil {
		var made []client.Object
		made, err = c.generate(size, trace)
		objects = append(objects, made...)
	}
	if err != nil {
		return contest.Input{}, fmt.Errorf("case %s: %w", c.Name, err)
	}
	for _, o := range manifest.Expand(objects) {
		take(&in, o)
	}
	if len(in.Pools) == 0 || len(in.Pods) == 0 {
		return contest.Input{}, fmt.Errorf("case %s: it has %d NodePools and %d pods, and needs both", c.Name, len(in.Pools), len(in.Pods))
	}
	err = c.setCatalog(ctx, &in)
	if running := c.Generator.Running; err == nil && running != nil {
		err = running.fill(&in, *c.Generator.Mix)
	}
	if err == nil && in.Occupied() && !c.OursOnly {
		err = errors.New("upstream is measured with empty clusters only: set oursOnly")
	}
	if err != nil {
		return contest.Input{}, fmt.Errorf("case %s: %w", c.Name, err)
	}
	return in, nil
}

// objects are what the manifests of the case describe.
func (c Case) objects() ([]client.Object, error) {
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		return nil, err
	}
	reader, err := manifest.NewReader(definitions)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if name := e.Name(); name != fileName && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")) {
			files = append(files, filepath.Join(c.folder, name))
		}
	}
	m, err := reader.ReadPaths(files, nil)
	return m.Objects, err
}

func (c Case) generate(size int, trace string) ([]client.Object, error) {
	switch {
	case c.Generator.Mix != nil:
		return c.Generator.Mix.pending(size)
	case c.Generator.Trace != nil && trace == "":
		return nil, ErrNoTrace
	case c.Generator.Trace != nil:
		return c.Generator.Trace.pods(trace, size)
	}
	return nil, nil
}

// take adds an object to the input.
func take(in *contest.Input, o client.Object) {
	switch o := o.(type) {
	case *v1.NodePool:
		in.Pools = append(in.Pools, o)
	case *appsv1.DaemonSet:
		in.DaemonSets = append(in.DaemonSets, o)
	case *corev1.Pod:
		if o.Spec.NodeName != "" {
			in.Running = append(in.Running, o)
		} else {
			in.Pods = append(in.Pods, o)
		}
	case *corev1.Node:
		in.Nodes = append(in.Nodes, o)
	case *v1.NodeClaim:
		in.Claims = append(in.Claims, o)
	case *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet, *v1alpha1.KWOKNodeClass:
		// Workloads are expanded into pods; the node class is not needed.
	}
}
