// SignUp.
import { PageHeader } from '../../ui/layout.js';

export default function SignUp() {
  return <PageHeader title="Tollgate" />;
}
