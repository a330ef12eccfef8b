// Package convert is karpenter convert.
package convert

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/convert"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/options"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// Command converts objects of earlier APIs to the current ones.
type Command struct {
	Files  command.Repeated  `name:"filename" short:"f" placeholder:"FILE_OR_DIR" help:"File or directory with manifests, - for standard input. Can be given several times."`
	More   []command.PathArg `arg:"" optional:"" name:"file_or_dir" help:"More of them, so that -f *.yaml works."`
	Output string            `name:"output" short:"o" enum:"yaml,json" default:"yaml" placeholder:"FORMAT" help:"yaml or json (${default})."`

	Role            string `name:"role" placeholder:"NAME" help:"IAM role for classes that name no instance profile." xor:"identity"`
	InstanceProfile string `name:"instance-profile" placeholder:"NAME" help:"Instance profile for classes that name none." xor:"identity"`
	ClusterName     string `name:"cluster-name" placeholder:"NAME" help:"Cluster whose tag selects subnets and security groups for classes without selectors."`
	NodeClass       string `name:"node-class" placeholder:"NAME" help:"EC2NodeClass of Provisioners that have neither provider nor providerRef."`
}

// Help is shown above the flags.
func (*Command) Help() string {
	return "Reads Provisioners (karpenter.sh/v1alpha5), AWSNodeTemplates (karpenter.k8s.aws/v1alpha1), NodePools and EC2NodeClasses of v1beta1, and AKSNodeClasses of v1alpha2, and prints " +
		"NodePools (karpenter.sh/v1), EC2NodeClasses (karpenter.k8s.aws/v1) and AKSNodeClasses (karpenter.azure.com/v1beta1). A comment marks each field that has no equivalent or a different meaning; " +
		"with -o json, comments go to standard error. Other documents are printed unchanged.\n\n" +
		"Exit codes: 0 everything is converted; 1 failure; 2 invalid command line or input, with file, line and field, and nothing is printed."
}

// Run implements the subcommand.
func (c *Command) Run(b command.Binary, s command.Streams) error {
	paths := command.Paths(c.Files, c.More)
	if len(paths) == 0 {
		return command.WithCode(errors.New("nothing to read: name files or directories with -f, or - for standard input"), command.ExitUsage)
	}
	parts, err := manifest.Parts(paths, s.In)
	if err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	converted, err := convert.ConvertFiles(parts, c.settings(), judges{b, map[options.CloudProvider]*manifest.Reader{}}.of)
	if err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	write := converted.YAML
	notes := converted.LeftoverKeys
	if c.Output == "json" {
		write, notes = converted.JSON, append(converted.Notes, converted.LeftoverKeys...)
	}
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return fmt.Errorf("writing what was converted: %w", err)
	}
	for _, note := range notes {
		_, _ = fmt.Fprintf(s.Err, "karpenter convert: note: %s\n", note)
	}
	_, err = s.Out.Write(out.Bytes())
	return err
}

// judges are the readers that validate what is converted, by provider.
type judges struct {
	binary  command.Binary
	readers map[options.CloudProvider]*manifest.Reader
}

// of returns the reader with the definitions of the provider that has a class: providers restrict the labels of NodePools differently. AWS,
// the cloud of the first releases, decides about classes that no provider has.
func (j judges) of(class convert.ClassReference) (*manifest.Reader, error) {
	name := cmp.Or(j.binary.Providers.OfGroup(class.Group), j.binary.Providers.OfGroup(awsv1.Group))
	if j.readers[name] == nil {
		place := source.NewPlace(j.binary)
		place.Provider = name
		reader, err := place.Reader()
		if err != nil {
			return nil, err
		}
		j.readers[name] = reader
	}
	return j.readers[name], nil
}

// settings are what old objects leave to the installation.
func (c *Command) settings() convert.Settings {
	out := convert.Settings{Role: c.Role, InstanceProfile: c.InstanceProfile, ClusterName: c.ClusterName, Flags: true}
	if c.NodeClass != "" {
		out.NodeClass = &convert.ClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: c.NodeClass}
	}
	return out
}
