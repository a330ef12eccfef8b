package main

import (
	"fmt"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// versionCommand prints the version of the binary.
type versionCommand struct {
	Output command.Output `name:"output" short:"o" default:"text" complete:"text,json,yaml" placeholder:"FORMAT" help:"text, which is one line, json, yaml, or jsonpath=TEMPLATE (${default})."`
}

// versionReport is what "karpenter version -o json" prints. Fields may be added, but none is removed or changes its meaning.
type versionReport struct {
	Version string `json:"version"`
	// Commit and Date, that of the commit in RFC 3339, are empty when unknown.
	Commit string `json:"commit"`
	Date   string `json:"date"`
	// GoVersion is such as go1.26.8, Platform such as linux/arm64.
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
	// KubernetesLibrary is the version of k8s.io/client-go, empty when unknown; KubernetesNewest the newest minor version that is supported.
	KubernetesLibrary string `json:"kubernetesLibrary"`
	KubernetesNewest  string `json:"kubernetesNewest"`
}

// Run implements the subcommand.
func (c versionCommand) Run(b command.Binary, s command.Streams) error {
	build := observe.ReadBuild(b.Version)
	if c.Output != command.OutputText {
		return document.Write(s.Out, reportVersion(build), c.Output.Document())
	}
	_, err := fmt.Fprintln(s.Out, versionLine(build))
	return err
}

func reportVersion(b observe.Build) versionReport {
	return versionReport{
		Version: b.Version, Commit: b.Commit, Date: b.Date, GoVersion: b.GoVersion, Platform: b.GoOS + "/" + b.GoArch,
		KubernetesLibrary: b.KubernetesLibrary, KubernetesNewest: observe.NewestKubernetes,
	}
}

// versionLine is one line, for scripts. The date is that of the commit, so that builds of a commit are alike.
func versionLine(b observe.Build) string {
	out := "karpenter " + b.Version
	if b.Commit != "" {
		out += fmt.Sprintf(" (commit %s of %s)", b.Commit, b.Date)
	}
	out += fmt.Sprintf(" %s %s/%s, Kubernetes up to %s", b.GoVersion, b.GoOS, b.GoArch, observe.NewestKubernetes)
	if b.KubernetesLibrary != "" {
		out += fmt.Sprintf(" (client-go %s)", b.KubernetesLibrary)
	}
	return out
}
