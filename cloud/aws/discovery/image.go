package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// imagePage is how many images a page holds.
const imagePage = 1000

// parameter is the image that a path refers to, or none.
type parameter struct {
	imageID string
	// mutable says that the path will lead elsewhere one day.
	mutable bool
}

// Images are the images that instances of the class may start from on a cluster of a version, the newest first, one for each kind
// of hardware. An alias that cannot be is an error: see image.UnsupportedAliasError.
func (f *Finder) Images(ctx context.Context, class *awsv1.EC2NodeClass, version string) ([]awsv1.AMI, error) {
	found, err := f.images.GetOrLoad(ctx, keyOf(class)+"-"+version, func(ctx context.Context) ([]image.Found, error) {
		alias, ok, err := class.Alias()
		switch {
		case err != nil:
			return nil, err
		case ok:
			return f.ofAlias(ctx, alias, version)
		default:
			return f.ofTerms(ctx, class.Spec.AMISelectorTerms)
		}
	})
	if err != nil {
		return nil, err
	}
	family := class.Family()
	if alias, ok, err := class.Alias(); ok && err == nil {
		family = alias.Family // the class may call it Custom
	}
	kept := image.Reduce(found, family, f.Clock.Now())
	f.discovered(ctx, "amis", class.Name, idsOf(kept))
	return kept, nil
}

// idsOf are the ids of images.
func idsOf(images []awsv1.AMI) []string {
	var out []string
	for _, i := range images {
		out = append(out, i.ID)
	}
	return out
}

// ofAlias are the images of an alias. Of the parameters it stands for not all need exist, but one must.
func (f *Finder) ofAlias(ctx context.Context, alias awsv1.Alias, version string) ([]image.Found, error) {
	paths, err := image.Parameters(alias, version)
	if err != nil {
		return nil, err
	}
	variants := map[string][]image.Variant{}
	var ids []string
	for _, path := range paths {
		p, err := f.parameter(ctx, f.aliases, path.Path, path.Mutable)
		if err != nil {
			return nil, err
		}
		if p.imageID == "" {
			continue
		}
		ids = append(ids, p.imageID)
		variants[p.imageID] = append(variants[p.imageID], path.Variants...)
	}
	if len(ids) == 0 {
		return nil, errors.New("failed to discover any AMIs for alias")
	}
	slices.Sort(ids)
	found, err := f.listImages(ctx, []image.Query{image.ByID(slices.Compact(ids))})
	for i := range found {
		found[i].Variants = variants[found[i].ID]
	}
	return found, err
}

// ofTerms are the images that other terms select.
func (f *Finder) ofTerms(ctx context.Context, terms []awsv1.AMISelectorTerm) ([]image.Found, error) {
	var ids []string
	for _, term := range terms {
		if term.SSMParameter == "" {
			continue
		}
		p, err := f.parameter(ctx, f.parameters, term.SSMParameter, false)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(p.imageID, "ami-") {
			observe.Log(ctx).ErrorContext(ctx, "the SSM parameter does not name an image", awsfield.Parameter(term.SSMParameter), logfield.Value(p.imageID))
			continue
		}
		ids = append(ids, p.imageID)
	}
	return f.listImages(ctx, image.Queries(terms, ids))
}

// parameter reads a parameter. A missing one refers to no image, and is read again the next time. Any other failure is
// returned: omitting an image because of it would replace all its nodes.
func (f *Finder) parameter(ctx context.Context, known *ttlcache.Cache[string, parameter], path string, mutable bool) (parameter, error) {
	if p, ok := known.Get(path); ok {
		return p, nil
	}
	answer, err := f.Parameters.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(path)})
	if awserrors.IsNotFound(err) {
		return parameter{}, nil
	}
	if err != nil {
		return parameter{}, fmt.Errorf("reading parameter %q: %w", path, err)
	}
	if answer.Parameter == nil || aws.ToString(answer.Parameter.Value) == "" {
		return parameter{}, fmt.Errorf("reading parameter %q: the answer has no value", path)
	}
	p := parameter{imageID: *answer.Parameter.Value, mutable: mutable}
	known.Set(path, p)
	f.discovered(ctx, "ssm parameter", path, p.imageID)
	return p, nil
}

// listImages asks all queries. An image that several find is there once.
func (f *Finder) listImages(ctx context.Context, queries []image.Query) ([]image.Found, error) {
	var out []image.Found
	seen := map[string]bool{}
	for _, query := range queries {
		in := &ec2.DescribeImagesInput{Owners: query.Owners, IncludeDeprecated: aws.Bool(true), MaxResults: aws.Int32(imagePage)}
		in.Filters = append(in.Filters, filter("state", "available"))
		for _, condition := range query.Filters {
			in.Filters = append(in.Filters, filter(condition.Name, condition.Values...))
		}
		pages := ec2.NewDescribeImagesPaginator(f.EC2, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing images: %w", err)
			}
			for _, i := range page.Images {
				if id := aws.ToString(i.ImageId); !seen[id] {
					seen[id] = true
					out = append(out, image.Found{
						ID: id, Name: aws.ToString(i.Name), Architecture: string(i.Architecture), Created: parseTime(i.CreationDate), Deprecated: parseTime(i.DeprecationTime),
					})
				}
			}
		}
	}
	return out, nil
}

// parseTime parses a time as EC2 writes it for images; zero for none.
func parseTime(text *string) time.Time {
	t, err := time.Parse(time.RFC3339, aws.ToString(text))
	if err != nil {
		return time.Time{}
	}
	return t
}
