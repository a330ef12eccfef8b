package catalog

import (
	"encoding/json"
	"fmt"
	"time"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
)

// compiledFor is how long compiled expressions are cached after their last use.
const compiledFor = 12 * time.Hour

// Compile returns the compiled expressions of a kubelet block; nil without expressions, or if the installation does
// not evaluate them.
func (c *Catalog) Compile(config kubelet.Config) (*kubeletcel.Compiled, error) {
	if !c.EvaluatesExpressions || !config.HasExpressions() {
		return nil, nil
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("parsing spec.kubelet, %w", err)
	}
	key := string(text)
	compiled, ok := c.compiled.Get(key)
	if !ok {
		if compiled, err = kubeletcel.Compile(config); err != nil {
			return nil, err
		}
	}
	c.compiled.Set(key, compiled)
	return compiled, nil
}

// TryExpressions evaluates the kubelet block of a class for every EC2 instance type, and returns the first failure; ErrNoTypes
// while no types are known.
func (c *Catalog) TryExpressions(class *awsv1.EC2NodeClass) error {
	seen, err := instancetype.ClassOf(class)
	if err != nil {
		return err
	}
	compiled, err := c.Compile(seen.Kubelet)
	if compiled == nil || err != nil {
		return err
	}
	known, _ := c.Inventory.Types()
	if len(known.Descriptions) == 0 {
		return ErrNoTypes
	}
	for _, d := range known.Descriptions {
		_, dropped, err := instancetype.ResolveKubelet(c.input(d, seen), compiled)
		if err != nil {
			return err
		}
		if len(dropped) > 0 {
			return fmt.Errorf("resolving instance type %s, %w", d.Name, dropped[0])
		}
	}
	return nil
}

// Reserved is what nodes of a type keep from pods, in the JSON of a kubelet block, where expressions say so: the same that the type was
// planned with. It is empty where there are none.
func (c *Catalog) Reserved(class *awsv1.EC2NodeClass, instanceType string) (string, error) {
	seen, err := instancetype.ClassOf(class)
	if err != nil {
		return "", err
	}
	compiled, err := c.Compile(seen.Kubelet)
	if compiled == nil || err != nil {
		return "", err
	}
	known, _ := c.Inventory.Types()
	for _, d := range known.Descriptions {
		if d.Name != instanceType {
			continue
		}
		config, _, err := instancetype.ResolveKubelet(c.input(d, seen), compiled)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(kubelet.Config{KubeReserved: config.KubeReserved, SystemReserved: config.SystemReserved})
		if err != nil {
			return "", fmt.Errorf("writing what is kept from pods: %w", err)
		}
		return string(text), nil
	}
	return "", fmt.Errorf("instance type %s not found in cache", instanceType)
}
