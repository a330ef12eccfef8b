// Package snapshot is karpenter snapshot.
package snapshot

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// Command captures a snapshot of a cluster.
type Command struct {
	Access source.Access `embed:""`

	Output string `name:"output" short:"o" default:"-" placeholder:"FILE" help:"Where to write, compressed if the name ends in .gz; - for standard output (${default})."`
	Redact bool   `name:"redact" help:"Replace names, and values of labels that are not well-known."`

	ControllerNamespace string `name:"controller-namespace" placeholder:"NAMESPACE" help:"Namespace of the controller whose published settings are captured; otherwise those in all namespaces."`

	// CloudProvider is empty where the node classes decide.
	CloudProvider options.CloudProvider `name:"cloud-provider" envvar:"CLOUD_PROVIDER" group:"Cloud provider" placeholder:"NAME" help:"Cloud provider whose labels are well-known; otherwise the one of the node classes in the cluster. Known: ${cloud_providers}."`
	KWOK          options.KWOK          `embed:""`
}

// saltSize is the length of the salt for replacements in bytes. Every snapshot draws a new salt and does not store it.
const saltSize = 32

// Help is shown above the flags.
func (*Command) Help() string {
	return "Reads NodePools, node classes, NodeClaims, NodeOverlays, CapacityBuffers, OperationsPolicies, VerticalPodAutoscalers, nodes, pods, workloads, volumes, devices and what belongs to them, and " +
		"writes the fields that scheduling depends on as YAML, for karpenter simulate --snapshot. Read-only. Needs permission to list these kinds; kinds that the " +
		"cluster does not serve are left out. The settings that the controller has published are captured as well, if you may list ConfigMaps.\n\nSecrets, environment, commands, images and messages are never written. With --redact, names and label values " +
		"are replaced by pseudonyms, equal values by equal ones, in the same order. Keys of labels and taints, names of resources and quantities stay.\n\n" +
		"Exit codes: 0 the snapshot is written; 1 failure; 2 invalid command line."
}

// Run implements the subcommand.
func (c *Command) Run(b command.Binary, s command.Streams) error {
	// Mistakes in the flags come before the cluster is read.
	if _, err := c.labels(b, c.CloudProvider); err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	if err := c.Access.Check(); err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	format, err := source.Format(b.Providers)
	if err != nil {
		return err
	}
	taken, err := source.Capture(ctx, c.Access, format, c.ControllerNamespace, "karpenter-snapshot/"+b.Version)
	if err != nil {
		return err
	}
	if c.Redact {
		salt := make([]byte, saltSize)
		if _, err := rand.Read(salt); err != nil {
			return fmt.Errorf("drawing a salt: %w", err)
		}
		rules, err := c.labels(b, cmp.Or(c.CloudProvider, cloudOf(b, taken)))
		if err != nil {
			return err
		}
		if taken, err = taken.Redacted(rules, salt); err != nil {
			return err
		}
	}
	if c.Output == manifest.Stdin {
		err = taken.Write(s.Out)
	} else {
		err = taken.Save(c.Output)
	}
	if err != nil {
		return fmt.Errorf("writing the snapshot: %w", err)
	}
	return summarize(s.Err, taken)
}

// labels are the labels of a cloud.
func (c *Command) labels(b command.Binary, name options.CloudProvider) (v1.LabelRules, error) {
	name = cmp.Or(name, options.CloudProviderKWOK)
	provider, err := b.Providers.Named(name)
	if err != nil {
		return v1.LabelRules{}, err
	}
	opened, err := provider.Offline().Open(plugin.Catalog{Name: c.KWOK.Catalog, File: c.KWOK.InstanceTypesFilePath})
	if err != nil {
		return v1.LabelRules{}, fmt.Errorf("opening cloud provider %q: %w", name, err)
	}
	return opened.Labels, nil
}

// cloudOf is the cloud of a snapshot's node classes.
func cloudOf(b command.Binary, taken snapshot.Snapshot) options.CloudProvider {
	for _, p := range slices.Backward(b.Providers) { // the default comes last
		for _, class := range p.NodeClasses {
			if slices.ContainsFunc(taken.Count(), func(c snapshot.Count) bool { return c.Kind == class.Kind }) {
				return p.Name
			}
		}
	}
	return options.CloudProviderKWOK
}

// summarize says what a snapshot holds.
func summarize(to io.Writer, s snapshot.Snapshot) error {
	counts := s.Count()
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = fmt.Sprintf("%d %s", c.Objects, c.Kind)
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	text := "karpenter snapshot: " + strings.Join(parts, ", ")
	if len(s.Absent) > 0 {
		text += "; the cluster does not serve " + strings.Join(s.Absent, ", ")
	}
	if why := source.Unread(s.Forbidden); len(why) > 0 {
		text += "; " + strings.Join(why, "; ")
	}
	_, err := fmt.Fprintln(to, text)
	return err
}
