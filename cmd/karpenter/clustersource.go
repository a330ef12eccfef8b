package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// clusterSource is where commands about a cluster read it: live, or from a snapshot. Objects of a live one take the same way as those of a file.
type clusterSource struct {
	Access   clusterAccess `embed:""`
	Snapshot string        `name:"snapshot" placeholder:"FILE" help:"Snapshot of a cluster, from karpenter snapshot, instead of a live cluster; - for standard input."`

	Settings planSettings `embed:""`

	// missing says that the kinds of Karpenter are not installed in the cluster; nil if they are.
	missing error
}

// clusterState is what was read of a cluster.
type clusterState struct {
	source  *clusterSource
	command string
	reader  *manifest.Reader
	objects []client.Object
	origin  *settingsOrigin
}

// read reads the cluster for a command, and makes settings that no flag sets those of its controller.
func (c *clusterSource) read(ctx context.Context, k *kong.Context, s streams, command string) (*clusterState, error) {
	if err := c.check(); err != nil {
		return nil, codedError{err, exitUsage}
	}
	definitions, err := c.Settings.Place.definitions()
	if err != nil {
		return nil, err
	}
	reader, err := manifest.NewReader(definitions, schemes()...)
	if err != nil {
		return nil, err
	}
	held, why, err := c.manifest(ctx, reader, s, command)
	if err != nil {
		return nil, err
	}
	origin, err := c.Settings.adopt(k, held.Objects)
	if err != nil {
		return nil, codedError{err, exitUsage}
	}
	origin.why = why
	return &clusterState{source: c, command: command, reader: reader, objects: held.Objects, origin: origin}, nil
}

// check reports flags that contradict each other.
func (c *clusterSource) check() error {
	if c.Snapshot != "" && c.Access.given() {
		return errors.New("--snapshot replaces a live cluster: leave out the flags that choose one, such as --kubeconfig and --context")
	}
	return errors.Join(c.Access.check(), c.Settings.Place.check())
}

// manifest reads the objects of the live cluster or the snapshot. why says why there may be no settings of a controller among them.
func (c *clusterSource) manifest(ctx context.Context, reader *manifest.Reader, s streams, command string) (held manifest.Manifest, why string, err error) {
	if c.Snapshot != "" {
		if held, err = snapshot.Read(reader, c.Snapshot, s.in); err != nil {
			return held, "", codedError{err, exitUsage}
		}
		return held, noneInSnapshot, nil
	}
	taken, err := capture(ctx, c.Access, c.Settings.ControllerNamespace, "karpenter-"+command)
	if err != nil {
		return held, "", err
	}
	c.missing = installed(taken.Absent)
	var text bytes.Buffer
	if err := taken.Write(&text); err != nil {
		return held, "", err
	}
	if len(taken.Forbidden) > 0 {
		why = noPermission
	}
	held, err = reader.Read("cluster", &text)
	return held, why, err
}

// open finds the cloud for objects: those of the cluster, or those of the cluster with changes.
func (c *clusterState) open(ctx context.Context, objects []client.Object) (plugin.Opened, error) {
	opened, err := c.source.Settings.Place.cloudFor(objects, asTaken)
	if err != nil {
		return opened, codedError{c.origin.failed(err), exitUsage}
	}
	opened.Notes = append(opened.Notes, unlistedNodes(ctx, opened)...)
	opened.Notes = append(opened.Notes, c.source.Settings.unpredictedDevices(opened)...)
	if opened.PlanNotes != nil {
		opened.Notes = append(opened.Notes, opened.PlanNotes(nil)...)
	}
	if c.source.missing != nil {
		opened.Notes = append(opened.Notes, c.source.missing.Error())
	}
	if err := simulation.Unreadable(opened.Objects); err != nil {
		opened.Notes = append(opened.Notes, "ignoring objects that cannot be read: "+strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return opened, nil
}

// tell says which settings are used, and what was left out.
func (c *clusterState) tell(to io.Writer, opened plugin.Opened) {
	_, _ = fmt.Fprintf(to, "karpenter %s: %s\n", c.command, c.origin.line(opened.Source))
	for _, note := range opened.Notes {
		_, _ = fmt.Fprintf(to, "karpenter %s: note: %s\n", c.command, note)
	}
}

// policies are the options of simulations at this moment.
func (c *clusterState) policies() simulation.Options {
	out := c.source.Settings.simulation()
	out.Now = time.Now()
	return out
}

// installed returns an error if the kinds that a cluster does not serve include those without which no object of Karpenter can exist: an object
// that is not found would mislead.
func installed(absent []string) error {
	for _, kind := range []string{"NodePool", "NodeClaim"} {
		if slices.Contains(absent, kind) {
			return fmt.Errorf("the cluster does not serve objects of kind %s: apply the CustomResourceDefinitions of the Helm chart karpenter-crd", kind)
		}
	}
	return nil
}
