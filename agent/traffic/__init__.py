"""Load for a service: questions arrive as customers' do, whether or not it keeps up."""
