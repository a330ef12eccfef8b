// Package source reads a cluster for commands: a live one or a snapshot, with the flags that choose it, the settings of its controller, and the cloud
// provider, without an account. Commands about manifests use its Settings and Place alone.
package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// Cluster is where commands about a cluster read it: live, or from a snapshot. Objects of a live one take the same way as those of a file.
type Cluster struct {
	Access   Access `embed:""`
	Snapshot string `name:"snapshot" placeholder:"FILE" help:"Snapshot of a cluster, from karpenter snapshot, instead of a live cluster; - for standard input."`

	Settings Settings `embed:""`

	gaps gaps
}

// gaps are what could not be read of a cluster.
type gaps struct {
	// missing says that the kinds of Karpenter are not installed in the cluster; nil if they are.
	missing error
	// forbidden are the kinds that may not be listed.
	forbidden []string
	// notes say what is not known of a snapshot.
	notes []string
}

// NewCluster returns a cluster with the flags of all providers.
func NewCluster(b command.Binary) Cluster { return Cluster{Settings: NewSettings(b)} }

// Missing returns an error if the kinds of Karpenter are not installed in the cluster that was read; nil if they are.
func (c *Cluster) Missing() error { return c.gaps.missing }

// Redacted reports whether these objects are from a redacted snapshot.
func (c *Cluster) Redacted(objects []client.Object) bool {
	return c.Snapshot != "" && snapshot.IsRedacted(objects)
}

// State is what was read of a cluster.
type State struct {
	// Reader reads manifests of the kinds of the cluster.
	Reader *manifest.Reader
	// Objects are what the cluster holds.
	Objects []client.Object

	source *Cluster
	tool   string
	origin *Origin
	gaps   gaps
}

// Read reads the cluster for a subcommand, and makes settings that no flag sets those of its controller.
func (c *Cluster) Read(ctx context.Context, k *kong.Context, s command.Streams, subcommand string) (*State, error) {
	if err := c.Check(); err != nil {
		return nil, command.WithCode(err, command.ExitUsage)
	}
	reader, err := c.Settings.Place.Reader()
	if err != nil {
		return nil, err
	}
	held, why, err := c.manifest(ctx, reader, s, subcommand)
	if err != nil {
		return nil, err
	}
	origin, err := c.Settings.Adopt(k, held.Objects, why)
	if err != nil {
		return nil, command.WithCode(err, command.ExitUsage)
	}
	return &State{Reader: reader, Objects: held.Objects, source: c, tool: subcommand, origin: origin, gaps: c.gaps}, nil
}

// Check reports flags that contradict each other.
func (c *Cluster) Check() error {
	if c.Snapshot != "" && c.Access.Given() {
		return errors.New("--snapshot replaces a live cluster: leave out the flags that choose one, such as --kubeconfig and --context")
	}
	return errors.Join(c.Access.Check(), c.Settings.Place.Check())
}

// manifest reads the objects of the live cluster or the snapshot. why says why there may be no settings of a controller among them.
func (c *Cluster) manifest(ctx context.Context, reader *manifest.Reader, s command.Streams, subcommand string) (held manifest.Manifest, why string, err error) {
	if c.Snapshot != "" {
		content, err := ReadSnapshot(reader, c.Snapshot, s.In)
		if err != nil {
			return held, "", command.WithCode(err, command.ExitUsage)
		}
		c.gaps.forbidden, c.gaps.notes = content.Forbidden, content.Notes()
		return content.Manifest, NoneInSnapshot, nil
	}
	binary := c.Settings.Place.binary
	format, err := LiveFormat(binary.Providers)
	if err != nil {
		return held, "", err
	}
	taken, err := Capture(ctx, c.Access, format, c.Settings.ControllerNamespace, "karpenter-"+subcommand+"/"+binary.Version)
	if err != nil {
		return held, "", err
	}
	c.gaps = gaps{missing: installed(taken.Absent), forbidden: taken.Forbidden}
	var text bytes.Buffer
	if err := taken.Write(&text); err != nil {
		return held, "", err
	}
	if slices.Contains(taken.Forbidden, snapshot.Settings) {
		why = NoPermission
	}
	held, err = reader.Read("cluster", &text)
	return held, why, err
}

// Open finds the cloud for objects: those of the cluster, or those of the cluster with changes.
func (c *State) Open(ctx context.Context, objects []client.Object) (plugin.Opened, error) {
	opened, err := c.source.Settings.Place.CloudFor(objects, AsTaken)
	if err != nil {
		return opened, command.WithCode(c.origin.Failed(err), command.ExitUsage)
	}
	opened.Notes = append(opened.Notes, UnlistedNodes(ctx, opened)...)
	opened.Notes = append(opened.Notes, c.source.Settings.UnpredictedDevices(opened)...)
	if opened.PlanNotes != nil {
		opened.Notes = append(opened.Notes, opened.PlanNotes(nil)...)
	}
	opened.Notes = append(opened.Notes, c.source.Settings.PolicyNotes(objects, c.source.Snapshot != "", c.gaps.forbidden)...)
	opened.Notes = append(opened.Notes, c.gaps.notes...)
	if c.gaps.missing != nil {
		opened.Notes = append(opened.Notes, c.gaps.missing.Error())
	}
	if err := simulation.Unreadable(opened.Objects); err != nil {
		opened.Notes = append(opened.Notes, "ignoring objects that cannot be read: "+strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return opened, nil
}

// Tell says which settings are used, and what was left out.
func (c *State) Tell(to io.Writer, opened plugin.Opened) {
	_, _ = fmt.Fprintf(to, "karpenter %s: %s\n", c.tool, c.origin.Line(opened.Source))
	for _, note := range opened.Notes {
		_, _ = fmt.Fprintf(to, "karpenter %s: note: %s\n", c.tool, note)
	}
}

// Policies are the options of simulations at this moment.
func (c *State) Policies() simulation.Options {
	out := c.source.Settings.Simulation()
	out.Now = c.source.Settings.Place.binary.Now()
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
