// SignIn.
import { PageHeader } from '../../ui/layout.js';

export default function SignIn() {
  return <PageHeader title="Tollgate" />;
}
